package coordinator

// Walked is how many leases were gone through so far: the only work that grows with
// the number of leases.
func Walked(c *Coordinator) int { return c.table.rows.walked }
