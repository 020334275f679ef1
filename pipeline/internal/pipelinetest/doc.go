// Package pipelinetest has helpers for the tests of the packages below pipeline: generators of DynamoDB JSON
// (generate.go), sample records (input.go), short forms of items and events (plain_item.go), and checks.
package pipelinetest
