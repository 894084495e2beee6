//go:build !linux

package hugemem

func mapWords(int) []uint64 { return nil }

func unmapWords([]uint64) {}

func dropWords([]uint64) {}
