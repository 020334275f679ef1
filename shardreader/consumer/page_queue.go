package consumer

import (
	"container/list"

	"github.com/tablewake/tablewake/pipeline"
)

// queue holds the delivered pages that the pipeline has not taken, in order. Operations on one partition do not visit
// the pages of other partitions, because there can be thousands of partitions. Use newQueue.
type queue struct {
	pages       list.List                  // elements are *pipeline.Page
	byPartition map[string][]*list.Element // elements of pages by partition
	bytes       int64                      // size of all pages
	paused      map[string]bool            // partitions whose pages pop skips
}

func newQueue() queue {
	return queue{byPartition: make(map[string][]*list.Element), paused: make(map[string]bool)}
}

// setPaused makes pop skip the pages of a partition if paused is true, or return them again. The pages of a paused
// partition would use memory that the pipeline needs for other partitions.
func (q *queue) setPaused(partition string, paused bool) {
	if paused {
		q.paused[partition] = true
	} else {
		delete(q.paused, partition)
	}
}

func (q *queue) push(page *pipeline.Page) {
	q.byPartition[page.Partition] = append(q.byPartition[page.Partition], q.pages.PushBack(page))
	q.bytes += int64(page.Bytes)
}

// pop removes and returns the oldest page whose partition is not paused; nil if there is none. It visits older pages of
// paused partitions, but there are few such pages.
func (q *queue) pop() *pipeline.Page {
	oldest := q.pages.Front()
	for oldest != nil && q.paused[oldest.Value.(*pipeline.Page).Partition] {
		oldest = oldest.Next()
	}
	if oldest == nil {
		return nil
	}
	page := q.remove(oldest)
	elements := q.byPartition[page.Partition]
	elements[0] = nil // the element would keep the page in memory
	if remaining := elements[1:]; len(remaining) > 0 {
		q.byPartition[page.Partition] = remaining
	} else {
		delete(q.byPartition, page.Partition)
	}
	return page
}

// drop removes the pages of a partition.
func (q *queue) drop(partition string) {
	for _, e := range q.byPartition[partition] {
		q.remove(e)
	}
	delete(q.byPartition, partition)
}

func (q *queue) remove(e *list.Element) *pipeline.Page {
	page := q.pages.Remove(e).(*pipeline.Page)
	q.bytes -= int64(page.Bytes)
	return page
}
