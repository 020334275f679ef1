// Package dynamotest is for the tests of stores on DynamoDB: a [Server] is DynamoDB
// Local, in which every test has a world of its own, and [Faults] between the SDK's client
// and a server do what DynamoDB Local never does: conflicts, throttles, lost answers.
package dynamotest
