// Package entity distinguishes the entities of a single-table design. An entity has a pattern for each key attribute,
// such as 'ORDER#{Date}#{OrderId}', and an item is of the entity whose patterns hold for its key. The entity of an item
// is therefore a function of its key, unless the entity has a condition too.
//
// A pattern binds names. A name binds the text up to the fixed text that follows it, the first time that it follows;
// the last name binds the rest. No name binds an empty text. A pattern that is one name alone binds a whole key
// attribute, of any type. A name that stands twice in a key must bind the same value twice.
//
// Start reading at pattern.go and entity.go. scope.go has what the rules about some entities can read. overlap.go
// decides whether two entities have a key in common, shape.go checks paths against declared attributes, and sampled.go
// makes shapes of sampled items.
package entity
