// Package pipelinetest has what the tests of the packages below pipeline share: generators of DynamoDB JSON (generate.go),
// sample records (input.go), short forms of items and events (plain_item.go), and checks.
package pipelinetest
