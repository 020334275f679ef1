// Package kcl runs a real application of Amazon's KCL with its adapter for DynamoDB Streams,
// for tests that share a lease table with it and for measurements beside it.
//
// The application is app/KCLApplication.java, on versions that app/pom.xml names; it needs a
// JDK 17 and Maven, and is built once into the cache of test/server. Before DynamoDB
// Local it needs a [RegionProxy].
package kcl
