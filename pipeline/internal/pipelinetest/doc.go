// Package pipelinetest has what the tests of the packages below pipeline share: items, records and their generators.
package pipelinetest
