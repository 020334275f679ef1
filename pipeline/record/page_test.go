package record_test

import (
	"fmt"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
)

// testPage has five records. The records 1 and 4 cannot be decoded, and record 4 has no sequence number.
func testPage() *record.Page {
	change := func(index int32, sequence string) record.Change {
		return record.Change{Index: index, Sequence: sequence}
	}
	return &record.Page{
		Changes: []record.Change{change(0, "10"), change(2, "30"), change(3, "40")},
		Errors:  []*record.RecordError{{Index: 1, Sequence: "20"}, {Index: 4}},
	}
}

func TestPage_RecordsAreInOrder(t *testing.T) {
	var got []string
	for r := range testPage().Records() {
		got = append(got, fmt.Sprintf("%d:%s:%v", r.Index, r.Sequence, r.Change != nil))
	}
	if want := "[0:10:true 1:20:false 2:30:true 3:40:true 4::false]"; fmt.Sprint(got) != want {
		t.Errorf("the records are %v, want %s", got, want)
	}
	for range testPage().Records() {
		break // the walk may end early
	}
}

func TestPage_Sequences(t *testing.T) {
	p := testPage()
	if first, last := p.FirstSequence(), p.LastSequence(); first != "10" || last != "40" {
		t.Errorf("the sequence numbers are %s to %s, want 10 to 40", first, last)
	}
	dropped := p.DropSequences(func(sequence string) bool { return sequence == "10" || sequence == "20" || sequence == "40" })
	if dropped != 3 || p.Len() != 2 || p.FirstSequence() != "30" || p.LastSequence() != "30" {
		t.Errorf("%d records were dropped, %d are left: %+v", dropped, p.Len(), p)
	}
	if p = new(record.Page); p.FirstSequence() != "" || p.LastSequence() != "" {
		t.Error("an empty page has sequence numbers")
	}
}

func TestIsSequence(t *testing.T) {
	for s, want := range map[string]bool{
		"": false, "0": true, "111": true, "-1": false, "1a": false, "1234567890123456789012345678901234567890": true,
		"12345678901234567890123456789012345678901": false,
	} {
		if record.IsSequence(s) != want {
			t.Errorf("IsSequence(%q) is %v", s, !want)
		}
	}
}
