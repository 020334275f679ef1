package consumer

import (
	"container/list"

	"github.com/tablewake/tablewake/pipeline"
)

// queue holds the delivered pages that the pipeline has not taken, in order. Its operations on one partition do
// not visit the pages of the others: there can be thousands. Use newQueue.
type queue struct {
	pages       list.List                  // of *pipeline.Page
	byPartition map[string][]*list.Element // by partition
	bytes       int64                      // of pages
	paused      map[string]bool            // partitions whose pages pop leaves here
}

func newQueue() queue {
	return queue{byPartition: make(map[string][]*list.Element), paused: make(map[string]bool)}
}

// pause makes pop leave the pages of a partition in the queue, or take them again. The pages that were read ahead
// would otherwise use the room that the pipeline has left for other partitions.
func (q *queue) pause(partition string, paused bool) {
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

// pop takes the oldest page whose partition is not paused; nil if there is none. It visits the paused pages before
// it, which are few.
func (q *queue) pop() *pipeline.Page {
	oldest := q.pages.Front()
	for oldest != nil && q.paused[oldest.Value.(*pipeline.Page).Partition] {
		oldest = oldest.Next()
	}
	if oldest == nil {
		return nil
	}
	page := q.remove(oldest)
	of := q.byPartition[page.Partition]
	of[0] = nil // the element keeps the page in memory
	if left := of[1:]; len(left) > 0 {
		q.byPartition[page.Partition] = left
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
