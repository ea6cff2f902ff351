{{ config(materialized="table") }}
SELECT id, id * id AS square FROM range(1000)
