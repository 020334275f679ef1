package dynamo

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// single is the sort key where a partition holds one item.
const single = "-"

// seatKey is the sort key of a seat, before those of the claims on it.
const (
	seatKey     = "-"
	claimPrefix = "claim#"
)

// of appends how the partition keys of a kind of item of a pipeline begin. A role is limited to the
// rows of its pipeline by that: # ends the name, which holds none.
func of(dst []byte, pipe, kind string) []byte {
	return append(append(item.AppendEscaped(dst, pipe), '#'), kind...)
}

// partition is the partition key of a pipeline's notes of a kind.
func partition(pipe, kind string) string { return string(of(nil, pipe, kind)) }

// noteRef is a pipeline's note of a kind, with parts for a sort key.
func (db *DB) noteRef(pipe, kind string, parts ...string) Ref {
	var sk []byte
	last := len(parts) - 1
	for _, part := range parts[:last] {
		sk = append(item.AppendEscaped(sk, part), '#')
	}
	return db.ref(partition(pipe, kind), fit(sk, string(item.AppendEscaped(nil, parts[last])), MaxSortKey))
}

// prefix is how the partition keys of a kind of item of t begin.
func prefix(t state.Target, kind string) []byte {
	b := of(make([]byte, 0, 192), t.Pipeline, kind)
	for _, part := range []string{t.View, t.Table, t.Birth} {
		b = item.AppendEscaped(append(b, '#'), part)
	}
	return append(b, '#')
}

// fit ends a key with its last part, cut where the key would be too long: what the part
// begins with, # and its SHA-256. There is no # in parts, so that no whole one looks so.
func fit(prefix []byte, part string, limit int) string {
	if len(prefix)+len(part) <= limit {
		return string(append(prefix, part...))
	}
	sum := sha256.Sum256([]byte(part))
	keep := max(limit-len(prefix)-1-2*len(sum), 0)
	b := append(append(prefix, part[:min(keep, len(part))]...), '#')
	return string(hex.AppendEncode(b, sum[:]))
}

// ref is an item of the state table.
func (db *DB) ref(pk, sk string) Ref {
	return Ref{db.table, Item{attrPK: S(pk), attrSK: S(sk)}}
}

// GuardRef is the guard of an item.
func (db *DB) GuardRef(t state.Target, item item.Key) Ref {
	return db.ref(fit(prefix(t, "guard"), string(item), MaxPartitionKey), single)
}

// TombstoneRef is the tombstone of a row, apart from the table of rows.
func (db *DB) TombstoneRef(t state.Target, row state.Row) Ref {
	return db.ref(fit(prefix(t, "tombstone"), string(row), MaxPartitionKey), single)
}

// ContributionRef is what an item counts for.
func (db *DB) ContributionRef(t state.Target, item item.Key) Ref {
	return db.ref(fit(prefix(t, "contribution"), string(item), MaxPartitionKey), single)
}

// SeatRef is the seat of a row.
func (db *DB) SeatRef(t state.Target, row state.Row) Ref {
	return db.ref(fit(prefix(t, "seat"), string(row), MaxPartitionKey), seatKey)
}

// ClaimRef is the claim of an item on a row: in the partition of the row's seat.
func (db *DB) ClaimRef(t state.Target, row state.Row, item item.Key) Ref {
	return db.ref(fit(prefix(t, "seat"), string(row), MaxPartitionKey), fit([]byte(claimPrefix), string(item), MaxSortKey))
}

// MemberPartition is the partition key under which the members of one value of a
// group's row are, in the order of their sort keys.
func (db *DB) MemberPartition(t state.Target, row state.Row, value string) string {
	name := item.AppendEscaped([]byte{'#'}, value)
	b := fit(prefix(t, "member"), string(row), MaxPartitionKey-len(name)) // # is in no row either
	return b + string(name)
}

// S is text as an attribute value.
func S(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

// N is digits as an attribute value.
func N(digits string) types.AttributeValue { return &types.AttributeValueMemberN{Value: digits} }

// ParseInteger is an N that is an integer, however it is spelled.
func ParseInteger(digits string) (int64, error) {
	d, err := decimal.Parse(digits)
	if err != nil {
		return 0, err
	}
	n, ok := d.Int64()
	if !ok {
		return 0, viewErrs.New("no integer")
	}
	return n, nil
}

// Bool is a truth value as an attribute value.
func Bool(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// Text is the S at name; "" where there is none.
func Text(item Item, name string) string {
	v, ok := item[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return v.Value
}

// Digits is the N at name as it is; "" where there is none.
func Digits(item Item, name string) string {
	v, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return ""
	}
	return v.Value
}
