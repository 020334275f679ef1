package letters

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
)

// An error that names an object by what is sensitive is shown without it.
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
