val factor = 3
println("sum " + sc.parallelize(1 to 100, 4).map(_ * factor).sum.toLong)
System.exit(0)
