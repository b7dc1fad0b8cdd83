package com.example.shop

import android.content.Context
import android.content.Intent
import androidx.work.Constraints
import androidx.work.CoroutineWorker
import androidx.work.ExistingWorkPolicy
import androidx.work.NetworkType
import androidx.work.OneTimeWorkRequestBuilder
import androidx.work.WorkManager
import androidx.work.WorkerParameters
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import java.time.Instant
import java.util.concurrent.TimeUnit
import kotlin.random.Random
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import org.json.JSONArray
import org.json.JSONObject

/**
 * Keeps reports of what happened to pushes until Fanfare has accepted them. The key comes from the registration, and
 * permits nothing but reports of this device.
 */
object PushReports {
    /** Where reports are sent: your backend, as in server.mjs, or Fanfare's /v1/apps/shop/reports. */
    const val ADDRESS = Session.BACKEND + "/push/reports"
    /** The key of the handle in a message's data and in an intent's extras. */
    const val HANDLE = "fanfare_report"
    private const val MOST_KEPT = 200
    private const val OLDEST_MS = 7 * 86_400_000L
    private const val SPREAD_MS = 25_000L
    private const val DAY_MS = 86_400_000L
    private const val LONGEST_TEXT = 1024

    private fun kept(context: Context) = context.getSharedPreferences("push-reports", Context.MODE_PRIVATE)

    fun key(context: Context): String? = kept(context).getString("key", null)

    /** Keeps the key of a registration, and sends what waited for it. */
    @Synchronized
    fun setKey(context: Context, key: String) {
        kept(context).edit().putString("key", key).commit()
        enqueue(context, 0)
    }

    /** Forgets a void key, unless a registration has replaced it. */
    @Synchronized
    fun forgetKey(context: Context, key: String) {
        if (key(context) == key) kept(context).edit().remove("key").commit()
    }

    /** Forgets key and reports, when the user signs out. */
    @Synchronized
    fun clear(context: Context) {
        kept(context).edit().remove("key").remove("reports").commit()
    }

    /**
     * Keeps a report and sends it: `received` and `shown` within 25 s, since a broadcast reaches all phones at once, and
     * what people did at once. Without a handle, nothing is reported.
     */
    fun add(context: Context, handle: String?, kind: String, action: String? = null, text: String? = null) {
        if (handle == null) return
        val report = JSONObject().put("handle", handle).put("kind", kind).put("at", Instant.now().toString())
        if (action != null) report.put("action", action)
        if (text != null) report.put("text", cut(text))
        synchronized(this) { store(context, trim(reports(context) + report)) }
        val isUrgent = kind != "received" && kind != "shown"
        enqueue(context, if (isUrgent) 0 else Random.nextLong(SPREAD_MS))
    }

    /**
     * Reports that the activity was opened from a push; call it in onCreate and in onNewIntent. The extras of an intent
     * have the message's data, also if Android itself showed the notification.
     */
    fun opened(context: Context, intent: Intent?) {
        add(context, intent?.getStringExtra(HANDLE), "opened")
        // Otherwise a rotated screen would report it again.
        intent?.removeExtra(HANDLE)
    }

    /** Returns the reports, oldest first. */
    @Synchronized
    fun reports(context: Context): List<JSONObject> {
        val array = JSONArray(kept(context).getString("reports", "[]"))
        return trim(List(array.length()) { array.getJSONObject(it) })
    }

    /** Removes reports that were accepted, or never can be. */
    @Synchronized
    fun remove(context: Context, sent: List<JSONObject>) {
        val gone = sent.map { it.toString() }.toSet()
        store(context, reports(context).filter { it.toString() !in gone })
    }

    /** Sets when the next request may be sent; attempts counts the failures in a row. */
    fun pause(context: Context, attempts: Int, milliseconds: Long) {
        val end = System.currentTimeMillis() + milliseconds
        kept(context).edit().putInt("attempts", attempts).putLong("not-before", end).commit()
    }

    fun attempts(context: Context) = kept(context).getInt("attempts", 0)

    /** Returns how long the pause still lasts. A pause of more than a day comes from a wrong clock, and is ignored. */
    fun pauseLeft(context: Context): Long {
        val left = kept(context).getLong("not-before", 0) - System.currentTimeMillis()
        return if (left in 1..DAY_MS) left else 0
    }

    /** Notes that work has started: what is added from now on gets work of its own. */
    @Synchronized
    fun begin(context: Context) {
        kept(context).edit().putInt("run", kept(context).getInt("run", 0) + 1).commit()
    }

    /** Sends what is kept after a delay, and not before the end of a pause. Call it with 0 at each start of the app. */
    fun enqueue(context: Context, delay: Long) {
        val wait = maxOf(delay, pauseLeft(context))
        val work = OneTimeWorkRequestBuilder<SendReports>()
            .setInitialDelay(wait, TimeUnit.MILLISECONDS)
            .setConstraints(Constraints.Builder().setRequiredNetworkType(NetworkType.CONNECTED).build())
            .build()
        // Work that waits sends all that is added in the meantime. Work that runs may have looked for the last time, but
        // KEEP would keep it, so the name changes when work starts.
        val name = if (wait > 0) "push-reports" else "push-reports-now"
        val run = kept(context).getInt("run", 0)
        WorkManager.getInstance(context).enqueueUniqueWork("$name-$run", ExistingWorkPolicy.KEEP, work)
    }

    /** Fanfare refuses longer texts. */
    private fun cut(text: String): String {
        var cut = text.take(LONGEST_TEXT)
        while (cut.toByteArray().size > LONGEST_TEXT) cut = cut.dropLast(1)
        return if (cut.lastOrNull()?.isHighSurrogate() == true) cut.dropLast(1) else cut
    }

    private fun store(context: Context, reports: List<JSONObject>) {
        kept(context).edit().putString("reports", JSONArray(reports).toString()).commit()
    }

    /** Drops reports that would no longer be counted, and the oldest of too many, those of `received` first. */
    private fun trim(reports: List<JSONObject>): List<JSONObject> {
        val now = System.currentTimeMillis()
        val fresh = reports.filter { now - Instant.parse(it.getString("at")).toEpochMilli() < OLDEST_MS }
        val (received, others) = fresh.partition { it.getString("kind") == "received" }
        val gone = (received + others).take(maxOf(0, fresh.size - MOST_KEPT)).toSet()
        return fresh.filter { it !in gone }
    }
}

/** Sends the kept reports once a network is available. */
class SendReports(context: Context, parameters: WorkerParameters) : CoroutineWorker(context, parameters) {
    override suspend fun doWork(): Result = withContext(Dispatchers.IO) {
        PushReports.begin(applicationContext)
        var size = MOST_SENT
        while (!isStopped) {
            if (PushReports.pauseLeft(applicationContext) > 0) {
                PushReports.enqueue(applicationContext, 0)
                break
            }
            val key = PushReports.key(applicationContext) ?: break
            val batch = PushReports.reports(applicationContext).take(size)
            if (batch.isEmpty()) break
            val (status, retryAfter) = post(batch, key)
            when (status) {
                202 -> {
                    PushReports.remove(applicationContext, batch)
                    PushReports.pause(applicationContext, 0, 0)
                }
                // The key is void. The next registration brings a new one, and sends the reports.
                401 -> PushReports.forgetKey(applicationContext, key)
                // One of them can never be accepted: smaller requests find it.
                400, 413, 422 -> {
                    if (batch.size == 1) PushReports.remove(applicationContext, batch)
                    size = if (batch.size == 1) MOST_SENT else batch.size / 2
                }
                else -> pause(retryAfter)
            }
        }
        Result.success()
    }

    /** Waits as long as Fanfare asks, and at least 1 s, 2 s, 4 s … up to an hour. WorkManager's own backoff goes to five hours. */
    private fun pause(retryAfter: Long) {
        val attempts = PushReports.attempts(applicationContext)
        val backoff = minOf(1000L shl minOf(attempts, 20), LONGEST_PAUSE_MS)
        val wait = maxOf(retryAfter, backoff + Random.nextLong(backoff / 4))
        PushReports.pause(applicationContext, attempts + 1, wait)
    }

    /** Returns the status, 0 without an answer, and Retry-After in milliseconds. */
    private fun post(reports: List<JSONObject>, key: String): Pair<Int, Long> {
        val connection = URL(PushReports.ADDRESS).openConnection() as HttpURLConnection
        return try {
            connection.requestMethod = "POST"
            connection.connectTimeout = 10_000
            connection.readTimeout = 10_000
            connection.doOutput = true
            connection.setRequestProperty("Content-Type", "application/json")
            connection.setRequestProperty("Authorization", "Report $key")
            val body = JSONObject().put("reports", JSONArray(reports))
            connection.outputStream.use { it.write(body.toString().toByteArray()) }
            val retryAfter = connection.getHeaderField("Retry-After")?.toLongOrNull()?.coerceIn(0, 86_400) ?: 0
            Pair(connection.responseCode, retryAfter * 1000)
        } catch (error: IOException) {
            Pair(0, 0L)
        } finally {
            connection.disconnect()
        }
    }

    private companion object {
        const val MOST_SENT = 100
        const val LONGEST_PAUSE_MS = 3_600_000L
    }
}
