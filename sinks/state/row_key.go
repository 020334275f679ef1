package state

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Row is the key of a row as text: the values of its partition key and its sort key, encoded as in [item.Key].
// Different keys have different texts. The zero Row means that there is no row.
type Row string

// MakeRow returns the Row of a partition key and a sort key. Both are an S, N or B that is not empty. sk is absent if
// the table has no sort key.
func MakeRow(pk, sk item.Value) (Row, error) {
	var buf [128]byte
	b, err := item.AppendKeyValue(buf[:0], pk)
	if err == nil && sk.Exists() {
		b, err = item.AppendKeyValue(append(b, ','), sk)
	}
	return Row(b), err
}

// Decode returns the values of the row's key. sk is absent if the table has no sort key.
func (r Row) Decode() (pk, sk item.Value, err error) {
	_, values, err := item.Key(r).Decode()
	if err != nil {
		return pk, sk, fmt.Errorf("row: %w", err)
	}
	if len(values) > 1 {
		sk = values[1]
	}
	return values[0], sk, nil
}
