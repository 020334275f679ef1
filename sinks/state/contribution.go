package state

import "github.com/tablewake/tablewake/pipeline/record"

// Contribution is what one item counts for in one aggregate, as of one version of it.
type Contribution struct {
	Version record.Version // of the change that it is of; zero: nothing is known of the item
	Since   record.Version // of the change by which the item began to count: tells its values from those that it left behind when it expired
	Shares  []Share        // one for each element that counts; empty: the item counts for nothing
	Void    bool           // that change could not be counted: the same version, once it can be, may replace this contribution
}

// Share is what one element of an item counts for in one group.
type Share struct {
	Group  Row      // the group's row, without a shard
	Values []string // one for each value of the aggregate, by its name; "" where there is none. See Number and SortableText
}
