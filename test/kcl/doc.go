// Package kcl runs a real application of Amazon's KCL with its adapter for DynamoDB Streams. Tests share a lease table
// with the application, and measurements compare it with tablewake.
//
// The application is app/KCLApplication.java, with the versions that app/pom.xml names. It needs a JDK 17 and Maven,
// and is built once into the cache of test/server. With DynamoDB Local it needs a [RegionProxy].
package kcl
