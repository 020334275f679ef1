package dynamo

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// The limits of DynamoDB, in bytes (Developer Guide, Constraints).
const (
	MaxItem         = 400 << 10
	MaxPartitionKey = 2048
	MaxSortKey      = 1024
)

// SizeOfItem returns the size of an item as DynamoDB limits and bills it, in bytes
// (Developer Guide, Item sizes and formats).
func SizeOfItem(item Item) int {
	n := 0
	for name, v := range item {
		n += len(name) + SizeOf(v)
	}
	return n
}

// SizeOf returns the size of a value in bytes. The size of a number is approximate: the guide counts one byte for each
// two digits, and one more byte.
func SizeOf(av types.AttributeValue) int {
	n := 0
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return sizeOfNumber(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		return 1
	case *types.AttributeValueMemberM:
		n = 3 + len(v.Value) + SizeOfItem(v.Value)
	case *types.AttributeValueMemberL:
		n = 3 + len(v.Value)
		for _, e := range v.Value {
			n += SizeOf(e)
		}
	case *types.AttributeValueMemberSS:
		for _, e := range v.Value {
			n += len(e)
		}
	case *types.AttributeValueMemberNS:
		for _, e := range v.Value {
			n += sizeOfNumber(e)
		}
	case *types.AttributeValueMemberBS:
		for _, e := range v.Value {
			n += len(e)
		}
	}
	return n
}

// sizeOfNumber returns the size of a number in bytes. text must not have an exponent.
func sizeOfNumber(text string) int {
	text, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(text, ".")
	whole = strings.TrimLeft(whole, "0")

	// Digits are stored in pairs on both sides of the point. Pairs of zeros at either end are not stored: 0.0012 and 1200
	// have one pair.
	if whole == "" {
		zeroPairs := (len(fraction) - len(strings.TrimLeft(fraction, "0"))) / 2
		fraction = fraction[2*zeroPairs:]
	}
	if fraction == "" {
		zeroPairs := (len(whole) - len(strings.TrimRight(whole, "0"))) / 2
		whole = whole[:len(whole)-2*zeroPairs]
	}

	wholePairs, fractionPairs := (len(whole)+1)/2, (len(fraction)+1)/2
	size := 1 + wholePairs + fractionPairs
	if negative {
		size++
	}
	return size
}

// TooLarge returns the error of a value that does not fit into an item.
func TooLarge(what string, size int) error {
	return viewErrs.Errorf(
		"dynamodb: %s would be an item of %d bytes, and DynamoDB takes at most 400 KB (%d): keep less in it",
		redact.Safe(what), size, MaxItem)
}
