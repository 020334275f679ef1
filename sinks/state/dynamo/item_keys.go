package dynamo

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// onlySortKey is the sort key in partitions that hold one item.
const onlySortKey = "-"

// The sort keys of the owner record of a row and of the claims on the row. The owner record sorts before the claims.
const (
	ownerSortKey = "-"
	claimPrefix  = "claim#"
)

// appendKind appends the start of partition keys: the pipeline, # and the kind of item. An IAM policy grants access to
// a prefix of keys: the pipeline's name and #. No encoded name contains #, so no other pipeline has that prefix.
func appendKind(dst []byte, pipe, kind string) []byte {
	return append(append(item.AppendEscaped(dst, pipe), '#'), kind...)
}

// partition returns the partition key of a pipeline's notes of one kind, such as marks, gaps or births.
func partition(pipe, kind string) string { return string(appendKind(nil, pipe, kind)) }

// noteRef returns the reference to a note of a pipeline. parts are the parts of its sort key.
func (db *DB) noteRef(pipe, kind string, parts ...string) Ref {
	var sk []byte
	last := len(parts) - 1
	for _, part := range parts[:last] {
		sk = append(item.AppendEscaped(sk, part), '#')
	}
	return db.ref(partition(pipe, kind), cutKey(sk, string(item.AppendEscaped(nil, parts[last])), MaxSortKey))
}

// prefix returns the start of the partition keys for one target and one kind of item.
func prefix(t state.Target, kind string) []byte {
	b := appendKind(make([]byte, 0, 192), t.Pipeline, kind)
	for _, part := range []string{t.View, t.Table, t.Birth} {
		b = item.AppendEscaped(append(b, '#'), part)
	}
	return append(b, '#')
}

// cutKey appends part to prefix. If the key would be longer than limit, cutKey cuts part, and appends # and the SHA-256
// of the whole part. No whole part contains #, so a cut part never equals a whole part.
func cutKey(prefix []byte, part string, limit int) string {
	if len(prefix)+len(part) <= limit {
		return string(append(prefix, part...))
	}
	sum := sha256.Sum256([]byte(part))
	keep := max(limit-len(prefix)-1-2*len(sum), 0)
	b := append(append(prefix, part[:min(keep, len(part))]...), '#')
	return string(hex.AppendEncode(b, sum[:]))
}

// ref returns the reference to an item of the state table.
func (db *DB) ref(pk, sk string) Ref {
	return Ref{db.table, Item{attrPK: S(pk), attrSK: S(sk)}}
}

// GuardRef returns the reference to the guard of an item.
func (db *DB) GuardRef(t state.Target, item item.Key) Ref {
	return db.ref(cutKey(prefix(t, "guard"), string(item), MaxPartitionKey), onlySortKey)
}

// TombstoneRef returns the reference to a tombstone that is stored apart from the rows.
func (db *DB) TombstoneRef(t state.Target, row state.Row) Ref {
	return db.ref(cutKey(prefix(t, "tombstone"), string(row), MaxPartitionKey), onlySortKey)
}

// ContributionRef returns the reference to the contribution of an item.
func (db *DB) ContributionRef(t state.Target, item item.Key) Ref {
	return db.ref(cutKey(prefix(t, "contribution"), string(item), MaxPartitionKey), onlySortKey)
}

// OwnerRef returns the reference to the owner record of a row: the revision of its claims, and the owner.
func (db *DB) OwnerRef(t state.Target, row state.Row) Ref {
	return db.ref(cutKey(prefix(t, "seat"), string(row), MaxPartitionKey), ownerSortKey)
}

// ClaimRef returns the reference to the claim of an item on a row. It is in the partition of the row's owner record.
func (db *DB) ClaimRef(t state.Target, row state.Row, item item.Key) Ref {
	return db.ref(cutKey(prefix(t, "seat"), string(row), MaxPartitionKey),
		cutKey([]byte(claimPrefix), string(item), MaxSortKey))
}

// MemberPartition returns the partition key of the members of the min, max or distinct with a name, in a group's row. A
// row contains no #, so the # before the name ends the row.
func (db *DB) MemberPartition(t state.Target, row state.Row, name string) string {
	suffix := item.AppendEscaped([]byte{'#'}, name)
	return cutKey(prefix(t, "member"), string(row), MaxPartitionKey-len(suffix)) + string(suffix)
}

// S returns text as an attribute value.
func S(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

// N returns digits as an attribute value.
func N(digits string) types.AttributeValue { return &types.AttributeValueMemberN{Value: digits} }

// ParseInteger parses an N that is an integer, in any notation, such as 1.0.
func ParseInteger(digits string) (int64, error) {
	d, err := decimal.Parse(digits)
	if err != nil {
		return 0, err
	}
	n, ok := d.Int64()
	if !ok {
		return 0, viewErrs.New("not an integer")
	}
	return n, nil
}

// Bool returns a BOOL as an attribute value.
func Bool(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// Text returns the text of item[name] if it is an S, and otherwise "".
func Text(item Item, name string) string {
	v, ok := item[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return v.Value
}

// Digits returns the digits of item[name] if it is an N, and otherwise "".
func Digits(item Item, name string) string {
	v, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return ""
	}
	return v.Value
}
