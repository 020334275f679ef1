package dynamo

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/view"
)

// What DynamoDB takes, in bytes (Developer Guide, Constraints).
const (
	maxItem         = 400 << 10
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// sizeOf is what a value counts for in the size of its item, in bytes (Developer
// Guide, Item sizes and formats). Of a number DynamoDB says it approximately: a byte
// for every two digits, and one more.
func sizeOf(v pipeline.Value) int {
	switch v.Kind() {
	case pipeline.KindS:
		text, _ := v.Text()
		return len(text)
	case pipeline.KindN:
		d, _ := v.Number()
		return sizeOfNumber(d)
	case pipeline.KindB:
		b, _ := v.Bytes()
		return len(b)
	case pipeline.KindBOOL, pipeline.KindNULL:
		return 1
	case pipeline.KindM:
		n := 3
		for name, e := range v.Members() {
			n += 1 + len(name) + sizeOf(e)
		}
		return n
	case pipeline.KindL:
		n := 3
		for _, e := range v.Elements() {
			n += 1 + sizeOf(e)
		}
		return n
	default: // sets
		n := 0
		for _, e := range v.Elements() {
			n += sizeOf(e)
		}
		return n
	}
}

func sizeOfNumber(d pipeline.Decimal) int {
	digits, exponent := d.Digits()
	n := len(digits) + exponent&1 // the pairs stand on both sides of the point
	size := 1 + (n+1)/2
	if d.Sign() < 0 {
		size++
	}
	return size
}

// sizeOfColumns is what attributes count for, with their names.
func sizeOfColumns(columns []view.Column) int {
	n := 0
	for _, c := range columns {
		n += len(c.Name) + sizeOf(c.Value)
	}
	return n
}

// sizeOfText is what an attribute that is an S counts for.
func sizeOfText(name, text string) int { return len(name) + len(text) }

// tooLarge is the error of a row that no item can hold.
func tooLarge(what string, size int) error {
	return fmt.Errorf("dynamodb: %s would be an item of %d bytes, and DynamoDB takes at most 400 KB (%d): keep fewer attributes in it", what, size, maxItem)
}
