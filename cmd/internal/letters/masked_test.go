package letters

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

// An error that names an object by a sensitive value is shown without the value.
func TestMaskLetter(t *testing.T) {
	var ps []item.Pattern
	for _, text := range []string{"Email", "Address.**"} {
		p, err := item.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	m, err := mask.New(ps, []byte("a secret of the test"))
	if err != nil {
		t.Fatal(err)
	}
	letter := pipeline.DeadLetter{
		Sink: "open", Class: "write", Key: "USER%231", Error: "archive: the object ada%40x.org/Berlin/1.json of ADA@x.org holds another, of 12 in all",
		Raw: []byte(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"PK":{"S":"USER#1"}},"NewImage":{"PK":{"S":"USER#1"},"Email":{"S":"ada@x.org"},"Address":{"M":{"City":{"S":"Berlin"},"No":{"N":"12"}}}}}}`),
	}
	got := Mask(m, letter)
	if text := strings.ToLower(got.Error + string(got.Raw)); strings.Contains(text, "ada") || strings.Contains(text, "berlin") || !strings.Contains(text, "of 12 in all") {
		t.Errorf("it shows %s, %s", got.Error, got.Raw)
	}
	if got.Key != "USER%231" || strings.Count(got.Error, "masked-") != 3 {
		t.Errorf("the letter of %s says %s", got.Key, got.Error)
	}
	if same := Mask(nil, letter); same.Error != letter.Error || string(same.Raw) != string(letter.Raw) {
		t.Error("without a mask the letter is changed")
	}
	letter.Raw = []byte("no record")
	if got := Mask(m, letter); got.Raw != nil || !strings.HasPrefix(string(got.Key), "masked-") {
		t.Errorf("what does not decode is shown as %s, %s", got.Key, got.Raw)
	}
}

// The letter of an undecodable line of an export shows neither the line nor names inside a sensitive map.
func TestMaskLetter_Line(t *testing.T) {
	p, err := item.ParsePattern("Emails")
	if err != nil {
		t.Fatal(err)
	}
	m, err := mask.New([]item.Pattern{p}, []byte("a secret of the test"))
	if err != nil {
		t.Fatal(err)
	}
	o := record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK"}}
	page := record.NewSnapshotDecoder(o).DecodeLines([]byte(`{"Item":{"PK":{"S":"USER#1"},"Emails":{"M":{"ada@x.org":{"N":"ten"}}}}}`))
	if len(page.Errors) != 1 {
		t.Fatal(page)
	}
	e := page.Errors[0]
	got := Mask(m, pipeline.DeadLetter{Class: record.ClassUndecodable, Key: e.Key, Sequence: e.Sequence, Raw: e.Raw, Error: e.Error()})
	if strings.Contains(got.Error, "ada") || !strings.Contains(got.Error, "Item.Emails: ") || got.Raw != nil || !strings.HasPrefix(string(got.Key), "masked-") {
		t.Errorf("it shows %s of %s, %s", got.Error, got.Key, got.Raw)
	}
}
