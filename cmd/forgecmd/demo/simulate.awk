# Plays a fixed list of requests against a cache and prints what they cost on
# average. Every run gives the same number.
BEGIN { FS = "=" }
/^[a-z_]+=/ { setting[$1] = $2 + 0 }
END {
	capacity = setting["capacity"]; ttl = setting["ttl"]
	seed = 7; cost = 0; requests = 4000; used = 0
	for (now = 1; now <= requests; now++) {
		seed = (seed * 1021 + 523) % 65537
		# Nine of ten requests ask for one of 60 popular pages, some more often than others.
		page = (seed % 10 > 0) ? int((seed % 60) * (seed % 7) / 7) : 1000 + seed % 500
		if (page in loaded && now - loaded[page] <= ttl) {
			cost += 1
			if (now - loaded[page] > 400) cost += 12 # old pages annoy readers
		} else {
			cost += 25
			if (!(page in loaded)) used++
			loaded[page] = now
		}
		seen[page] = now
		if (used > capacity) { # forget the page nobody asked for longest
			oldest = now + 1
			for (p in loaded) if (seen[p] < oldest) { oldest = seen[p]; victim = p }
			delete loaded[victim]; used--
		}
		cost += capacity * 0.06 # memory is not free
	}
	printf "METRIC cost=%.3f\n", cost / requests
}
