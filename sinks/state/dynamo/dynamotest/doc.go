// Package dynamotest is for tests of stores with DynamoDB Local. [Open] returns a [Server] with separate tables for
// every test. [Faults] are between the SDK's client and the server. They add faults that DynamoDB Local never has:
// conflicts, throttling, lost answers.
package dynamotest
