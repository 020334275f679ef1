// Package rights compares the IAM policies that `tablewake template` prints with what the
// built programs call, the command and the function: it stands between them and every real
// server, and holds each call against the statements, and each action of the statements
// against the calls.
package rights
