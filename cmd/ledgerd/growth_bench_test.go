package main

import (
	"fmt"
	"testing"

	"ledgerd/internal/devstack/pgtest"
)

// grownEntries is how far BenchmarkGrowth lets a log grow, in steps of growthStep that are posted in bulk.
const (
	grownEntries = 2_000_000
	growthStep   = 100_000
)

// BenchmarkGrowth compares the rates of single posts and of bulk lines in a log of two million entries with those in the
// same log when it was empty: ratios, both in one run. Bulk rates are of the first three and the last three steps.
func BenchmarkGrowth(b *testing.B) {
	cluster := pgtest.NewCluster(b)
	s := newRealService(b, cluster.AdminURL("postgres"))
	s.start(b)
	defer s.kill(b)
	for n := range b.N {
		emptyPosts, _ := postLoad(b, s.connectionFile, 1, benchRound)
		var rates []float64
		for step := range grownEntries / growthStep {
			body := bulkReports(fmt.Sprintf("%d-%d", n, step), 1, growthStep)
			rates = append(rates, growthStep/postLines(b, s.connectionFile, body, growthStep).Seconds())
		}
		grownPosts, _ := postLoad(b, s.connectionFile, 1, benchRound)
		emptyLines, grownLines := mean(rates[:3]), mean(rates[len(rates)-3:])
		b.ReportMetric(emptyPosts, "posts/s-empty")
		b.ReportMetric(grownPosts, "posts/s-grown")
		b.ReportMetric(grownPosts/emptyPosts, "posts-ratio")
		b.ReportMetric(emptyLines, "lines/s-empty")
		b.ReportMetric(grownLines, "lines/s-grown")
		b.ReportMetric(grownLines/emptyLines, "lines-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

func mean(list []float64) (sum float64) {
	for _, v := range list {
		sum += v / float64(len(list))
	}
	return sum
}
