// Package unmarshal decodes images into Go values by their dynamodbav tags, as the SDK's attributevalue does.
//
// [Decode] plans each type once. Read unmarshal.go and decoder.go, then fill.go, which writes
// straight into memory.
package unmarshal
