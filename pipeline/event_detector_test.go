package pipeline_test

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

func TestEventID(t *testing.T) {
	version, err := record.ParseVersion("1700000000" + "0000000000000000000" + "111111111111111111111")
	if err != nil {
		t.Fatal(err)
	}
	base := record.Change{StreamARN: "arn:aws:dynamodb:eu-west-1:1:table/t/stream/2024-01-01T00:00:00.000", Key: "a,b", Version: version}
	other, err := record.ParseVersion("1700000000" + "0000000000000000000" + "111111111111111111112")
	if err != nil {
		t.Fatal(err)
	}
	id := pipeline.EventID(&base, "paid", 0)
	if id != pipeline.EventID(base.Clone(), "paid", 0) || len(id) != 32 {
		t.Errorf("not the same for the same event: %s", id)
	}
	seen := map[string]bool{id: true}
	stream, key, later := base, base, base
	stream.StreamARN += "1"
	key.Key, key.StreamARN = "b", base.StreamARN+"a," // the ID must differ although the parts, joined, give the same text
	later.Version = other
	for _, different := range []string{
		pipeline.EventID(&stream, "paid", 0), pipeline.EventID(&key, "paid", 0), pipeline.EventID(&later, "paid", 0),
		pipeline.EventID(&base, "paid", 1), pipeline.EventID(&base, "sent", 0),
	} {
		if seen[different] {
			t.Errorf("%s comes twice", different)
		}
		seen[different] = true
	}
}
