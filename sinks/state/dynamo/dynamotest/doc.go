// Package dynamotest runs tests of stores against DynamoDB Local. [Open] returns a [Server] with separate
// tables for every test. [Faults] sit between the SDK's client and the server, and add what DynamoDB Local never does:
// conflicts, throttling, lost answers.
package dynamotest
