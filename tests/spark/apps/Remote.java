import org.apache.spark.sql.SparkSession;

/** A client of a Spark Connect server: adds squares there. */
public class Remote {
    public static void main(String[] arguments) throws Exception {
        SparkSession spark = org.apache.spark.sql.connect.SparkSession.builder().remote(arguments[0]).getOrCreate();
        Object sum = spark.range(0, 1000, 1, 8).selectExpr("sum(id * id)").collectAsList().get(0);
        System.out.println("sum " + sum);
        spark.close();
    }
}
