// Package rights compares the IAM policies that `tablewake template` prints with the calls of the built programs, which
// are the command and the function. A proxy in front of every real server notes the calls. Each call must be allowed by
// the statements, and each action of the statements must be called.
package rights
