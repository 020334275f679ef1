// Package dynamotest is for tests of stores with DynamoDB Local. [Open] returns a [Server] with separate tables for
// every test. [Faults] is between the SDK's client and the server. It adds faults that DynamoDB Local never has, such
// as conflicts, throttling and lost answers.
package dynamotest
