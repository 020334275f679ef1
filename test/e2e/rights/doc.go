// Package rights compares the IAM policies that `tablewake template` prints with what the
// built program calls: it stands between the program and every real server, and holds each
// call against the statements, and each action of the statements against the calls.
package rights
