package registry

import "slices"

// Positional returns the names of the parameters in the order in which they may be given
// by position; nil where parameters by position are not turned into named ones.
func (o *Operation) Positional() []string { return slices.Clone(o.positional) }
