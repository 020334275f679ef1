package search_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
)

// Documents that are planned concurrently share no memory.
func TestPlanSideBySide(t *testing.T) {
	s := newSink(t, search.Options{Index: parse(t, "docs")})
	var wg sync.WaitGroup
	for worker := range 4 {
		filling := strings.Repeat(fmt.Sprint(worker), 2000)
		c := changeOf(t, "INSERT", "", `"Filling":{"S":"`+filling+`"}`)
		wg.Go(func() {
			for range 2000 {
				d := pipeline.Delivery{Change: c}
				if err := s.Plan(&d); err != nil {
					t.Error(err)
					return
				}
				if doc := string(d.Ops[0].(*search.Mutation).Doc); !strings.HasSuffix(doc, `"Filling":"`+filling+`"}`) {
					t.Errorf("the document of worker %d holds what another wrote", worker)
					return
				}
			}
		})
	}
	wg.Wait()
}
