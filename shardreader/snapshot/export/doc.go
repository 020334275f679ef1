// Package export has exports of DynamoDB tables to S3.
//
// request.go requests an export and waits for it.
package export
