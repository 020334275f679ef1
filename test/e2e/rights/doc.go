// Package rights compares the IAM policies that `tablewake template` prints with the calls of the built programs, the
// command and the function. It is between them and every real server, and holds each call against the statements, and
// each action of the statements against the calls.
package rights
