package simulation

import "time"

// queue holds the coming events in the order of their time. Events at the same time stay in the order in which they
// were added.
type queue struct {
	heap []happening
	seq  uint64
}

type happening struct {
	at  time.Duration
	seq uint64
	do  func()
}

func (h happening) before(o happening) bool {
	return h.at < o.at || h.at == o.at && h.seq < o.seq
}

func (q *queue) push(at time.Duration, do func()) {
	q.seq++
	q.heap = append(q.heap, happening{at, q.seq, do})
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.heap[i].before(q.heap[up]) {
			return
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

func (q *queue) pop() happening {
	top := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = happening{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && q.heap[child].before(q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
