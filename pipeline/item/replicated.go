package item

import "strings"

// replicationPrefix starts the names of the attributes that legacy global tables
// (version 2017.11.29) add to items: aws:rep:deleting, aws:rep:updatetime,
// aws:rep:updateregion. They are no part of what a user wrote.
const replicationPrefix = "aws:rep:"

// EqualButReplicated tells whether two images are equal when their aws:rep:*
// attributes are left out.
func EqualButReplicated(a, b Image) bool {
	p := differing(a, b)
	return !p.next()
}

// Replicated reports whether an attribute has such a name.
func Replicated(name string) bool { return strings.HasPrefix(name, replicationPrefix) }
