package config

// Hint is the hint of a [Problem] about a name that is not known: "did you mean
// x?" where one of the names is near, else all of them behind the words of all, as
// "the keys here are".
func Hint(got string, names []string, all string) string { return meant(got, names, all) }
