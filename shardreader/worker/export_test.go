package worker

// Walked is how many leases were gone through so far: the only work that grows with
// the number of leases.
func Walked(w *Worker) int { return w.rows.walked }
