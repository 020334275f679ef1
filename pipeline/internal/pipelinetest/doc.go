// Package pipelinetest has helpers for the tests of the packages below pipeline. dynamodb_json_generator.go has
// generators of DynamoDB JSON, sample_records.go has sample records, and plain_item.go has short forms of items and
// events. The other files have checks.
package pipelinetest
