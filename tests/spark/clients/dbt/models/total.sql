SELECT sum(square) AS total FROM {{ ref("squares") }}
