package sample

import (
	"testing"
)

// A line of an export shows its item, even if the line is a deletion. A plain item may have an attribute named Item.
func TestItemOf(t *testing.T) {
	for line, want := range map[string]string{
		`{"Item":{"PK":{"S":"a"}}}`: `{"PK":{"S":"a"}}`,
		`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"},"n":{"N":"1"}}}`: `{"PK":{"S":"a"},"n":{"N":"1"}}`,
		`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"PK":{"S":"a"}},"OldImage":{"PK":{"S":"a"},"n":{"N":"2"}}}`: `{"PK":{"S":"a"},"n":{"N":"2"}}`,
		`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"PK":{"S":"a"}}}`:                                           `{"PK":{"S":"a"}}`,
		`{"Item":{"S":"an attribute"},"PK":{"S":"a"}}`:                                                                      `{"Item":{"S":"an attribute"},"PK":{"S":"a"}}`,
	} {
		m, err := parseLine([]byte(line))
		if err != nil || string(m.Bytes()) != want {
			t.Errorf("%s\nis %s, %v", line, m.Bytes(), err)
		}
	}
	if _, err := parseLine([]byte(`{"PK":"a"}`)); err == nil {
		t.Error("plain JSON is an item")
	}
}
