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

    private fun kept(context: Context) = context.getSharedPreferences("push-reports", Context.MODE_PRIVATE)

    fun key(context: Context): String? = kept(context).getString("key", null)

    /** Keeps the key of a registration, and sends what waited for it. */
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
        kept(context).edit().clear().commit()
    }

    /**
     * Keeps a report and sends it: `received` and `shown` within 25 s, since a broadcast reaches all phones at once, and
     * what people did at once. Without a handle, nothing is reported.
     */
    fun add(context: Context, handle: String?, kind: String, action: String? = null, text: String? = null) {
        if (handle == null) return
        val report = JSONObject().put("handle", handle).put("kind", kind).put("at", Instant.now().toString())
        if (action != null) report.put("action", action)
        if (text != null) report.put("text", text)
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
        return List(array.length()) { array.getJSONObject(it) }
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

    /** Sends what is kept after a delay, and not before the end of a pause. Call it with 0 at each start of the app. */
    fun enqueue(context: Context, delay: Long, isRetry: Boolean = false) {
        val left = kept(context).getLong("not-before", 0) - System.currentTimeMillis()
        val wait = maxOf(delay, left)
        val work = OneTimeWorkRequestBuilder<SendReports>()
            .setInitialDelay(wait, TimeUnit.MILLISECONDS)
            .setConstraints(Constraints.Builder().setRequiredNetworkType(NetworkType.CONNECTED).build())
            .build()
        val manager = WorkManager.getInstance(context)
        // Work that waits sends all that is added in the meantime. A retry follows the work that runs. Work without a delay
        // has a name of its own, so that it does not wait for the others.
        val policy = if (isRetry || wait <= 0) ExistingWorkPolicy.APPEND_OR_REPLACE else ExistingWorkPolicy.KEEP
        manager.enqueueUniqueWork(if (wait > 0) "push-reports" else "push-reports-now", policy, work)
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
        var size = MOST_SENT
        while (!isStopped) {
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
                    size = maxOf(1, batch.size / 2)
                }
                else -> {
                    pause(retryAfter)
                    break
                }
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
        PushReports.enqueue(applicationContext, wait, isRetry = true)
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
            val retryAfter = connection.getHeaderField("Retry-After")?.toLongOrNull() ?: 0
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
