package engines

import "testing"

func TestMonitorShowsWait(t *testing.T) {
	text := "------------\nTRANSACTIONS\n------------\n" +
		"---TRANSACTION 31, ACTIVE 0 sec starting index read\nLOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)\nMariaDB thread id 12, OS thread handle 1, query id 5 127.0.0.1 relplan Updating\n" +
		"------- TRX HAS BEEN WAITING 0 us FOR THIS LOCK TO BE GRANTED:\n" +
		"---TRANSACTION 30, ACTIVE 0 sec\n2 lock struct(s), heap size 1128, 1 row lock(s)\nMySQL thread id 1, OS thread handle 2, query id 4 127.0.0.1 relplan\n"
	for id, want := range map[int64]bool{12: true, 1: false, 2: false} {
		if got := monitorShowsWait(text, id); got != want {
			t.Errorf("session %d: got %v, want %v", id, got, want)
		}
	}
}
