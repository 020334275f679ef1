package dynamo

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// single is the sort key in partitions that hold one item.
const single = "-"

// seatKey is the sort key of a seat. It sorts before the claims on the seat.
const (
	seatKey     = "-"
	claimPrefix = "claim#"
)

// appendKind appends the start of partition keys: the pipeline and the kind of item. The # after the
// pipeline's name ends the prefix that a policy grants, since no encoded name contains #.
func appendKind(dst []byte, pipe, kind string) []byte {
	return append(append(item.AppendEscaped(dst, pipe), '#'), kind...)
}

// partition returns the partition key of the notes of a kind of a pipeline: marks, gaps, births.
func partition(pipe, kind string) string { return string(appendKind(nil, pipe, kind)) }

// noteRef returns the reference to a note of a pipeline. parts are the parts of the sort key.
func (db *DB) noteRef(pipe, kind string, parts ...string) Ref {
	var sk []byte
	last := len(parts) - 1
	for _, part := range parts[:last] {
		sk = append(item.AppendEscaped(sk, part), '#')
	}
	return db.ref(partition(pipe, kind), fit(sk, string(item.AppendEscaped(nil, parts[last])), MaxSortKey))
}

// prefix returns the start of partition keys of one target and kind.
func prefix(t state.Target, kind string) []byte {
	b := appendKind(make([]byte, 0, 192), t.Pipeline, kind)
	for _, part := range []string{t.View, t.Table, t.Birth} {
		b = item.AppendEscaped(append(b, '#'), part)
	}
	return append(b, '#')
}

// fit appends part to prefix. If the key would be too long, part is cut, and # and the SHA-256 of the
// part follow. No part contains #, so a cut part never equals a whole one.
func fit(prefix []byte, part string, limit int) string {
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
	return db.ref(fit(prefix(t, "guard"), string(item), MaxPartitionKey), single)
}

// TombstoneRef returns the reference to a tombstone that is stored apart from the rows.
func (db *DB) TombstoneRef(t state.Target, row state.Row) Ref {
	return db.ref(fit(prefix(t, "tombstone"), string(row), MaxPartitionKey), single)
}

// ContributionRef returns the reference to the contribution of an item.
func (db *DB) ContributionRef(t state.Target, item item.Key) Ref {
	return db.ref(fit(prefix(t, "contribution"), string(item), MaxPartitionKey), single)
}

// SeatRef returns the reference to the seat of a row.
func (db *DB) SeatRef(t state.Target, row state.Row) Ref {
	return db.ref(fit(prefix(t, "seat"), string(row), MaxPartitionKey), seatKey)
}

// ClaimRef returns the reference to the claim of an item on a row, in the partition of the row's seat.
func (db *DB) ClaimRef(t state.Target, row state.Row, item item.Key) Ref {
	return db.ref(fit(prefix(t, "seat"), string(row), MaxPartitionKey), fit([]byte(claimPrefix), string(item), MaxSortKey))
}

// MemberPartition returns the partition key of the members of one value of a group's row.
func (db *DB) MemberPartition(t state.Target, row state.Row, value string) string {
	name := item.AppendEscaped([]byte{'#'}, value)
	b := fit(prefix(t, "member"), string(row), MaxPartitionKey-len(name)) // # is in no row either
	return b + string(name)
}

// S returns text as an attribute value.
func S(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

// N returns digits as an attribute value.
func N(digits string) types.AttributeValue { return &types.AttributeValueMemberN{Value: digits} }

// ParseInteger parses an N that is an integer in any spelling, such as 1.0.
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

// Text returns the S at name; "" if there is none.
func Text(item Item, name string) string {
	v, ok := item[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return v.Value
}

// Digits returns the N at name; "" if there is none.
func Digits(item Item, name string) string {
	v, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return ""
	}
	return v.Value
}
