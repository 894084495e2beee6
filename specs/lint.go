package specs

// lint warns about what is legal and suspicious.
func (d *decoder) lint() {}
