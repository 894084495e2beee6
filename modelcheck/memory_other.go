//go:build !linux

package modelcheck

func mapWords(int) []uint64 { return nil }

func unmapWords([]uint64) {}

func dropWords([]uint64) {}
