package dynamo

import (
	"regexp"
	"strings"
)

// What the server's words for a request that is not valid tell beyond the code. They
// are matched as they are in the service and in DynamoDB Local; of what is not
// recognised nothing is shown, since it may quote values.
var (
	wrongKeyType = regexp.MustCompile(`Type mismatch for key (\S+) expected: ([A-Z]+) actual: ([A-Z]+)`)
	missingKey   = regexp.MustCompile(`Missing the key (\S+) in the item`)
	wrongKeySize = regexp.MustCompile(`(?i)size of (hashkey|rangekey) has exceeded`)
)

// invalid tells apart what a validation error may be.
func invalid(message string) (kind error, detail string) {
	low := strings.ToLower(message)
	switch {
	case strings.Contains(low, "item size"), strings.Contains(low, "aggregate size"), strings.Contains(low, "aggregated size"):
		return ErrTooLarge, ""
	case strings.Contains(low, "number overflow"), strings.Contains(low, "number underflow"), strings.Contains(low, "38 significant digits"),
		strings.Contains(low, "magnitude larger than supported"), strings.Contains(low, "magnitude smaller than supported"):
		return ErrNumber, ""
	case strings.Contains(low, "multiple operations on one item"), strings.Contains(low, "multiple operations on the same item"):
		return ErrInvalid, "two actions are on one item"
	case strings.Contains(low, "incorrect data type"):
		return ErrInvalid, "an attribute that is reckoned with is of another type"
	case strings.Contains(low, "expression size"):
		return ErrTooLarge, "an expression is over 4 KB"
	}
	if m := wrongKeyType.FindStringSubmatch(message); m != nil {
		return ErrInvalid, "the key attribute " + m[1] + " is of type " + m[2] + ", and an " + m[3] + " was given"
	}
	if m := missingKey.FindStringSubmatch(message); m != nil {
		return ErrInvalid, "the key attribute " + m[1] + " is missing"
	}
	if m := wrongKeySize.FindStringSubmatch(message); m != nil {
		return ErrInvalid, map[string]string{"hashkey": "the partition key is over 2048 bytes", "rangekey": "the sort key is over 1024 bytes"}[strings.ToLower(m[1])]
	}
	if strings.Contains(low, "does not match the schema") {
		return ErrInvalid, "the table's key has other attributes or other types"
	}
	return ErrInvalid, ""
}
