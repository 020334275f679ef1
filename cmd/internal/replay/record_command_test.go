package replay

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

func TestRecord_JSONNamesGaps(t *testing.T) {
	var out strings.Builder
	r := shardreader.Recording{Gaps: []record.Gap{{StreamARN: "arn", Shard: "shardId-1", After: "7", Whole: true}, {StreamARN: "arn", Shard: "shardId-2"}}}
	if err := writeRecordingJSON(&out, r, nil); err != nil {
		t.Fatal(err)
	}
	compact := strings.Join(strings.Fields(out.String()), "")
	if want := `"gaps":[{"Shard":"shardId-1","After":"7","Whole":true},{"Shard":"shardId-2","After":"","Whole":false}]`; !strings.Contains(compact, want) {
		t.Errorf("%s\nwant %s", compact, want)
	}
}
