package dynamo

import "regexp"

// wording recognizes a message of a ValidationException of DynamoDB or DynamoDB Local. The detail may contain the
// groups $1 to $3 of text. These groups match names and types, but never values.
type wording struct {
	text   *regexp.Regexp
	kind   error
	detail string
}

const itemTooLarge = "an item has at most 400 KB"

var wordings = []wording{
	{regexp.MustCompile(`(?i)item size (to update )?has exceeded`), ErrTooLarge, itemTooLarge},
	{regexp.MustCompile(`(?i)(payload|aggregated?) size`), ErrTooLarge, "a transaction has at most 4 MB"},
	{regexp.MustCompile(`(?i)expression size has exceeded`), ErrTooLarge, "an expression has at most 4 KB"},
	{regexp.MustCompile(
		`(?i)number (overflow|underflow)|38 (significant )?digits|magnitude (larger|smaller) than supported`), ErrNumber, ""},
	{regexp.MustCompile(`(?i)multiple operations on (one|the same) item`), ErrInvalid, "two actions are on one item"},
	{regexp.MustCompile(`(?i)operand in the update expression has an incorrect data type`), ErrInvalid,
		"what is added to is of another type"},
	{regexp.MustCompile(`Type mismatch for key (\S+) expected: ([A-Z]+) actual: ([A-Z]+)`), ErrInvalid,
		"the key attribute $1 is of type $2, and a value of type $3 was given"},
	{regexp.MustCompile(`Type mismatch for key`), ErrInvalid, "a key attribute is of another type"},
	{regexp.MustCompile(`Missing the key (\S+) in the item`), ErrInvalid, "the key attribute $1 is missing"},
	{regexp.MustCompile(`required keys was not given a value`), ErrInvalid, "a key attribute is missing"},
	{regexp.MustCompile(`(?i)empty string value\. Key: (\S+)`), ErrInvalid, "the key attribute $1 is empty"},
	{regexp.MustCompile(`(?i)size of (hashkey|rangekey) has exceeded|primary key values must be under`), ErrInvalid,
		"a partition key has at most 2048 bytes and a sort key 1024"},
	{regexp.MustCompile(`(?i)does not match the schema`), ErrInvalid,
		"the table's key has other attributes or other types"},
	{regexp.MustCompile(`(?i)reserved keyword: (\w+)`), ErrInvalid, "an expression names the reserved word $1"},
}

// invalid returns the kind and the detail of a validation error. The detail is "" if the message is unknown, because an
// unknown message may quote values.
func invalid(message string) (detail string, kind error) {
	for _, w := range wordings {
		if m := w.text.FindStringSubmatchIndex(message); m != nil {
			return string(w.text.ExpandString(nil, w.detail, message, m)), w.kind
		}
	}
	return "", ErrInvalid
}
