package pipeline

import (
	"testing"
)

const streamARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-11-21T09:00:00.000"

const lambdaRecord = `{"eventID":"c4ca4238a0b923820dcc509a6f75849b","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1",` +
	`"dynamodb":{"ApproximateCreationDateTime":1.7954568E9,"Keys":{"SK":{"S":"PROFILE"},"PK":{"S":"USER#1"}},` +
	`"NewImage":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"},"Status":{"S":"b"}},"OldImage":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"},"Status":{"S":"a"}},` +
	`"SequenceNumber":"000000100000000005391461882","SizeBytes":99,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":"` + streamARN + `"}`

func TestDecodeLambdaEvent(t *testing.T) {
	page, err := NewDecoder(DecoderOptions{}).Decode([]byte(`{"Records":[` + lambdaRecord + `,` + lambdaRecord + `]}`))
	if err != nil || len(page.Errors) != 0 || len(page.Changes) != 2 {
		t.Fatalf("%v %v %v", page, err, page.Errors)
	}
	c := &page.Changes[1]
	if c.Op != Modify || c.Key != "USER%231,PROFILE" || c.Index != 1 || c.Table != "shop" || c.Version.String() != "1795251600"+"0000000000000"+"000000100000000005391461882" {
		t.Errorf("%+v", c)
	}
	if v, ok := c.New.Lookup("Status"); !ok || v.String() != `{"S":"b"}` {
		t.Errorf("%v", v)
	}
	if c.Old.Equal(c.New) || !c.Old.Equal(c.Old.Clone()) {
		t.Error("equal")
	}
	if d := c.Clone(); !d.New.Equal(c.New) || d.Key != c.Key || d.Version != c.Version {
		t.Error("clone")
	}
}
