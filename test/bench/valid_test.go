package main

import (
	"testing"

	"github.com/bytedance/sonic"

	"github.com/tablewake/tablewake/pipeline/record"
)

// The peer runs machine code of sonic, not encoding/json, to which sonic can fall back. The peer accepts text that ours
// refuses.
func TestSonicIsNative(t *testing.T) {
	if sonic.APIKind != sonic.UseSonicJSON {
		t.Errorf("%s: take a version of it that knows this version of Go", sonicCode())
	}
	for name, value := range map[string]string{
		"UTF-8":          "{\"S\":\"\xff\"}",
		"type":           `{"X":"a"}`,
		"number":         `{"N":"1e999"}`,
		"duplicate name": `{"M":{"a":{"S":""},"a":{"S":""}}}`,
	} {
		event := []byte(`{"Records":[{"eventName":"INSERT","eventSourceARN":"` + streamARN + `","dynamodb":{"Keys":{"PK":{"S":"a"}},"SequenceNumber":"1","NewImage":{"PK":{"S":"a"},"Value":` + value + `}}}]}`)
		page, err := record.NewDecoder(record.DecoderOptions{}).Decode(event)
		if err == nil && len(page.Errors) == 0 {
			t.Errorf("%s: ours takes it", name)
		}
		if !sonic.Valid(event) {
			t.Errorf("%s: sonic.Valid refuses it", name)
		}
	}
}
